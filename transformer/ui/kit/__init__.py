"""What a page puts on the screen: figures, tables, browser views, groups of widgets, a computation
that is waited for, results that are kept. It knows no page: whatever one page needs alone lies in
that page's folder."""
