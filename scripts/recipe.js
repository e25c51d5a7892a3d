// `npm run pretrain` and `npm run evaluate`: set up what is missing, then run the recipe of that name. Flags after
// `--` are passed to it.
import { pathToFileURL } from "node:url";
import { join } from "node:path";
import { root, setUp } from "./setup.js";

const [name] = process.argv.splice(2, 1);
setUp();
await import(pathToFileURL(join(root, "dist", "tools", "recipes", "pretrain", `${name}.js`)).href);
