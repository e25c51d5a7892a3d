// `npm run example`: sets up what is missing, then runs the example. Flags after `--` are passed to it.
import { pathToFileURL } from "node:url";
import { join } from "node:path";
import { root, setUp } from "./setup.js";

setUp();
await import(pathToFileURL(join(root, "dist", "examples", "lookup-agent", "main.js")).href);
