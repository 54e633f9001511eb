"""`spiral`: the toy example of the preference regularizer."""
