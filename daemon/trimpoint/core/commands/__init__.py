"""The commands that a person can give a thread, each declared once.

A module for each command (or a few that belong together) has its type: the fields say which
arguments it takes, the class attributes its texts, a method what it does. `registry` lists them.
All else is made from these declarations: `parsing` reads what is typed in a chat, the shell's
arguments, the bodies of REST requests, menus, completion, help and the documents are built by those
who need them. `declaration` has the base classes, `arguments` the kinds of arguments.

The shell reads the declarations whenever it starts. So they import nothing that takes long: what a
command needs to run is imported when it runs, and the types are dataclasses because msgspec would
double the time that `trimpoint --help` takes.
"""
