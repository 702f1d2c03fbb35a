"""What kind of problem is this? On top of all else: nothing in the library imports it."""
