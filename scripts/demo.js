// `npm run demo`: sets up what is missing, then runs `hone demo`. Flags after `--` are passed to it.
import { pathToFileURL } from "node:url";
import { join } from "node:path";
import { root, setUp } from "./setup.js";

setUp();
const { main } = await import(pathToFileURL(join(root, "dist", "src", "apps", "cli", "main.js")).href);
await main(["demo", ...process.argv.slice(2)]);
