// Builds the guide, a static site with the pages of docs/, into `dist/guide`. `hone serve` serves it at /guide;
// because all links are relative, any web server can publish the folder at any path. The guide omits docs/decisions,
// which is for developers of Hone.
import { Eleventy } from "@11ty/eleventy";
import { copyFileSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { close, createIndex } from "pagefind";
import { writeCompressed } from "../compressed.js";
import { guideFolder, root } from "../setup.js";
import { layOut } from "./layout.js";
import { adaptMarkdown } from "./markdown.js";
import { htmlPath, pagePath } from "./pages.js";

process.chdir(root);
rmSync(guideFolder, { recursive: true, force: true });
const eleventy = new Eleventy("docs", guideFolder, {
  quietMode: true,
  config(configuration) {
    configuration.setUseGitIgnore(false);
    configuration.ignores.add("docs/decisions/**");
    configuration.addGlobalData(
      "permalink",
      () =>
        ({ page }) =>
          htmlPath(pagePath(page.inputPath)),
    );
    configuration.addPassthroughCopy({ "docs/images": "images" });
    configuration.amendLibrary("md", adaptMarkdown);
    configuration.addTransform("layout", function frame(content) {
      return layOut(pagePath(this.page.inputPath), content);
    });
    configuration.setTemplateFormats(["md"]);
    return { markdownTemplateEngine: false };
  },
});
await eleventy.write();
for (const name of ["guide.css", "guide.js"])
  copyFileSync(join(import.meta.dirname, name), join(guideFolder, name));
await indexPages();
for (const name of readdirSync(guideFolder, { recursive: true, encoding: "utf8" }))
  if (/\.(?:html|css|js|json)$/.test(name))
    writeCompressed(join(guideFolder, name), readFileSync(join(guideFolder, name)));

/** Writes the search index, and the script and style of the search field. Removes Pagefind's other user interfaces. */
async function indexPages() {
  const { index, errors } = await createIndex({ rootSelector: "html" });
  if (index === undefined) throw new Error(`Pagefind cannot create the search index: ${errors.join(", ")}`);
  await index.addDirectory({ path: guideFolder });
  const folder = join(guideFolder, "pagefind");
  await index.writeFiles({ outputPath: folder });
  await close();
  for (const name of readdirSync(folder))
    if (/^pagefind-(?:component-ui|modular-ui|highlight)\./.test(name)) rmSync(join(folder, name));
}
