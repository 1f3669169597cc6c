"""One HTML page of runs, comparisons or machine code: a single file that loads nothing.

``document`` says what a page has, ``templates`` how it looks, ``pictures`` draws Vega-Lite charts to SVG. The extra
``report`` (Jinja2, vl-convert) is needed to write a page, nothing to read one.
"""
