"""Who is let in: `admission` decides, by the `credentials` that a request shows; `token_file` keeps
the token, `login_page` is for a browser without one.
"""
