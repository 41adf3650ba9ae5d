from recollect.surfaces.cli import main

main()
