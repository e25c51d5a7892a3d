// Generates pages of docs/ from settings, route schemas and test names. `npm run docs` writes the pages, and a test
// compares them with the files.
import { readApiDocument } from "./api-document.ts";
import { apiPage } from "./api-page.ts";
import { provedFieldsPage } from "./chat-fields-page.ts";
import { commandLinePage } from "./command-line-page.ts";
import { configurationPage } from "./configuration-page.ts";
import { modelsPage } from "./families-table.ts";

/** Returns the text of each generated file, by its path. */
export async function madePages(): Promise<Readonly<Record<string, string>>> {
  return {
    "docs/guides/models.md": modelsPage(),
    "docs/reference/api.md": apiPage(await readApiDocument()),
    "docs/reference/chat-fields.md": provedFieldsPage(),
    "docs/reference/command-line.md": commandLinePage(),
    "docs/reference/configuration.md": configurationPage(),
  };
}
