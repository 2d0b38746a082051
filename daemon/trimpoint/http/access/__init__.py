"""Access control: `admission` decides which requests are allowed, by their `credentials`;
`token_file` stores the token, `login_page` is for a browser that is not logged in.
"""
