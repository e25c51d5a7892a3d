// `npm start`: sets up what is missing, then runs `hone serve`. Flags after `--` are passed to it.
import { pathToFileURL } from "node:url";
import { join } from "node:path";
import { bundledEntry, root, setUp } from "./setup.js";

setUp();
const { main } = await import(pathToFileURL(join(root, bundledEntry)).href);
await main(["serve", ...process.argv.slice(2)]);
