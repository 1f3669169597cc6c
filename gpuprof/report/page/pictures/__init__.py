"""Charts as Vega-Lite specifications, and what turns them into SVG."""
