"""The training recipe of a paper as one parameter, which sets the defaults of other parameters."""

from __future__ import annotations

from typing import Any, ClassVar

from tacit.core import Estimator, UsageError, check_choice

RECIPES = ("mined", "printed")


class WithRecipe(Estimator):
    """Base of rankers that are trained our way (`recipe="mined"`), or as their paper prints it ("printed")."""

    recipe: str
    # Values of the printed recipe: the first where none is given, and the others that it permits; `...`: any.
    _printed: ClassVar[dict[str, tuple[Any, ...]]] = {}

    def _used(self, name: str) -> Any:
        """Return the value of a parameter, or the value of the recipe if the parameter has its default."""
        value, printed = getattr(self, name), self._printed.get(name)
        if self.recipe == "mined" or printed is None:
            return value
        default = next(parameter.default for parameter in self._parameters() if parameter.name == name)
        return printed[0] if value == default else value

    def _check_recipe(self) -> None:
        """Raise if the recipe is unknown, or a parameter contradicts it."""
        check_choice("recipe", self.recipe, RECIPES)
        for name, permitted in self._printed.items() if self.recipe == "printed" else ():
            if ... not in permitted and self._used(name) not in permitted:
                wanted = " or ".join(map(repr, permitted))
                raise UsageError(f"{name} is {getattr(self, name)!r} with recipe='printed', want {wanted}")
