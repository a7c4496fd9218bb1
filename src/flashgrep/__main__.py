"""`python -m flashgrep` is the `flashgrep` command."""

from flashgrep.cli import main

if __name__ == "__main__":
    main()
