// `npm run docs`: writes the pages of the documentation that test/docs/ generates from the code.
import { writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { join } from "node:path";
import { root, setUp } from "./setup.js";

setUp();
const { madePages } = await import(pathToFileURL(join(root, "dist", "test", "docs", "pages.js")).href);
for (const [path, text] of Object.entries(await madePages())) writeFileSync(join(root, path), text);
