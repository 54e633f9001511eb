"""`python -m tacit` is the command `tacit`."""

from tacit.app.main import console

if __name__ == "__main__":
    console()
