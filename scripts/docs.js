// `npm run docs`: writes the pages of the documentation that are made of the code, which test/docs/ makes.
import { writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { join } from "node:path";
import { root, setUp } from "./setup.js";

setUp();
const { madePages } = await import(pathToFileURL(join(root, "dist", "test", "docs", "pages.js")).href);
for (const [path, text] of Object.entries(await madePages())) writeFileSync(join(root, path), text);
