// `npm run docs`: writes the pages of the documentation that are made of the settings, of the routes' schemas, and of
// the names of tests.
import { writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { join } from "node:path";
import { root, setUp } from "./setup.js";

setUp();
const built = (...path) => import(pathToFileURL(join(root, "dist", ...path)).href);
const write = (page, text) => writeFileSync(join(root, "docs", page), text);

const { configurationPage } = await built("src", "cli", "settings-help.js");
write("configuration.md", configurationPage());

const { apiPage } = await built("src", "http", "documentation", "api-page.js");
const { fakeServer } = await built("src", "http", "testing", "fake-server.js");
const server = await fakeServer();
write("api.md", apiPage((await server.ask({ method: "GET", url: "/openapi.json" })).json()));
await server.close();

const { provedFieldsPage } = await built("test", "chat-fields.js");
write("chat-fields.md", provedFieldsPage());
