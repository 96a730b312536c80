"""The review and status pages: server-rendered, for keyboards, without a build step; docs/review.md.

`guard` says who may ask, `site` is what handlers share, `queue`, `document`, `standing` and `pictures` answer,
`deciding` publishes, `server` puts them together. Whoever may ask sees every document: a reviewer has all rights.
"""
