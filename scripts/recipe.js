// `npm run pretrain` and `npm run evaluate`: sets up what is missing, then runs the recipe of that name. Flags after
// `--` go to it.
import { pathToFileURL } from "node:url";
import { join } from "node:path";
import { root, setUp } from "./setup.js";

const [name] = process.argv.splice(2, 1);
setUp();
await import(pathToFileURL(join(root, "dist", "tools", "recipes", "pretrain", `${name}.js`)).href);
