// The pages of docs/ that are made of the code: of its settings, of the routes' schemas, of the names of tests. `npm run docs`
// writes them, and a test compares.
import type { ApiDocument } from "../../src/http/testing/api-document.ts";
import { fakeServer } from "../../src/http/testing/fake-server.ts";
import { apiPage } from "./api-page.ts";
import { provedFieldsPage } from "./chat-fields-page.ts";
import { configurationPage } from "./configuration-page.ts";

/** The text of each page, by its name in docs/. */
export async function madePages(): Promise<Readonly<Record<string, string>>> {
  const server = await fakeServer();
  const document = (await server.ask({ method: "GET", url: "/openapi.json" })).json<ApiDocument>();
  await server.close();
  return {
    "api.md": apiPage(document),
    "chat-fields.md": provedFieldsPage(),
    "configuration.md": configurationPage(),
  };
}
