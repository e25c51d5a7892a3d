// `npm run docs`: writes the page of the documentation that is made of the settings.
import { writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { join } from "node:path";
import { root, setUp } from "./setup.js";

setUp();
const built = join(root, "dist", "src", "cli", "settings-help.js");
const { configurationPage } = await import(pathToFileURL(built).href);
writeFileSync(join(root, "docs", "configuration.md"), configurationPage());
