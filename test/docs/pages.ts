// The pages of docs/ that are made of the code: of its settings, of the routes' schemas, of the names of tests. `npm run docs`
// writes them, and a test compares.
import { readApiDocument } from "./api-document.ts";
import { apiPage } from "./api-page.ts";
import { provedFieldsPage } from "./chat-fields-page.ts";
import { commandLinePage } from "./command-line-page.ts";
import { configurationPage } from "./configuration-page.ts";

/** The text of each file, by its path. */
export async function madePages(): Promise<Readonly<Record<string, string>>> {
  return {
    "docs/reference/api.md": apiPage(await readApiDocument()),
    "docs/reference/chat-fields.md": provedFieldsPage(),
    "docs/reference/command-line.md": commandLinePage(),
    "docs/reference/configuration.md": configurationPage(),
  };
}
