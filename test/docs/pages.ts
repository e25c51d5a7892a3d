// What is made of the code, pages of docs/ and the client's types: of its settings, of the routes' schemas, of the names of
// tests. `npm run docs` writes them, and a test compares.
import type { ApiDocument } from "../../src/api/http/testing/api-document.ts";
import { fakeServer } from "../../src/api/http/testing/fake-server.ts";
import { apiPage } from "./api-page.ts";
import { provedFieldsPage } from "./chat-fields-page.ts";
import { clientTypes } from "./client-types.ts";
import { commandLinePage } from "./command-line-page.ts";
import { configurationPage } from "./configuration-page.ts";

/** The text of each file, by its path. */
export async function madePages(): Promise<Readonly<Record<string, string>>> {
  const server = await fakeServer();
  const document = (await server.ask({ method: "GET", url: "/openapi.json" })).json<ApiDocument>();
  await server.close();
  return {
    "docs/api.md": apiPage(document),
    "docs/chat-fields.md": provedFieldsPage(),
    "docs/command-line.md": commandLinePage(),
    "docs/configuration.md": configurationPage(),
    "src/apps/client/api.ts": clientTypes(document),
  };
}
