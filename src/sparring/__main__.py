from sparring.cli.main import main

raise SystemExit(main())
