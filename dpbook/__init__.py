"""Private ranking from comparisons and from whole rankings: models, mechanisms and exact checks.

The science modules (``data``, ``models``, ``estimators``, ``mechanisms``, ``rankers``, ``privacy``,
``simulation``) need numpy and scipy only. ``dpbook.book`` is the machinery of the book and is never
imported by them.
"""

__version__ = "0.2.0.dev0"
