"""HTML pages that need no other file."""

from jinja2 import Environment, PackageLoader, PrefixLoader, StrictUndefined


def page_environment(package: str) -> Environment:
    """Renders the templates of a package, which may include ``shared/page_style.css``.

    :param package: the package that the templates are in.
    """
    return Environment(
        loader=PrefixLoader(
            {
                "shared": PackageLoader("udil_avalanche.evaluation", "."),
                "own": PackageLoader(package, "."),
            }
        ),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
