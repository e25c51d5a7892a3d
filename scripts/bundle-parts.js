// Writes the parts of the bundle: converts the ES modules that esbuild made to CommonJS, because Node.js can store the
// compiled functions only of CommonJS files (`compiled-parts`).
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { transform } from "esbuild";
import { bundleFolder, root } from "./setup.js";

/**
 * Writes the parts, the loader of parts, and a file for each entry, which loads the part of the entry.
 *
 * @param outputFiles ES modules and their source maps, from esbuild
 * @param names names of the entries
 */
export async function writeParts(outputFiles, names) {
  const texts = new Map(outputFiles.map(({ path, text }) => [path, text]));
  const paths = [...texts.keys()].filter((path) => path.endsWith(".js"));
  mkdirSync(bundleFolder, { recursive: true });
  const codes = await Promise.all(
    paths.map(async (path) => {
      const { code, map } = await commonJs(path, texts.get(path), texts.get(`${path}.map`));
      writeFileSync(path, code);
      writeFileSync(`${path}.map`, map);
      return code;
    }),
  );
  const codeHash = createHash("sha256").update(codes.join("\0")).digest("hex").slice(0, 16);
  const loader = readFileSync(join(root, "scripts", "compiled-parts.cjs"), "utf8");
  writeFileSync(join(bundleFolder, "compiled-parts.cjs"), loader.replace("CODE_HASH", codeHash));
  for (const name of names) writeEntry(basename(name, ".js"));
}

/**
 * Matches `import(` in an expression, and no method of that name. V8 forgets how to import modules dynamically if it
 * reads stored functions, so the loader of parts imports them.
 */
const dynamicImport = /(?<![\w$.#])import\((?=")|(?<=(?:\bawait|\breturn|[=?:(>&|])\s*)import\(/g;

async function commonJs(path, text, map) {
  const inlineMap = `data:application/json;base64,${Buffer.from(map).toString("base64")}`;
  const imported = text.replaceAll(dynamicImport, "importPart(");
  const result = await transform(`${imported}\n//# sourceMappingURL=${inlineMap}`, {
    sourcefile: path,
    format: "cjs",
    platform: "node",
    target: "node20.19",
    define: { "import.meta.url": "partUrl" },
    sourcemap: "external",
    sourcesContent: false,
    minifyWhitespace: true,
    legalComments: "none",
    logLevel: "warning",
  });
  // Only parts of the bundle require a part, so its exports need no copy that marks it as a converted ES module.
  const code = result.code.replace(/module\.exports=__toCommonJS\((\w+)\)/, "module.exports=$1");
  return { code, map: result.map };
}

/** The command is an ES module, because programs import it. The other entries are started as processes or threads. */
function writeEntry(name) {
  const [file, text] =
    name === "main"
      ? ["main.js", `import load from "./compiled-parts.cjs";\nexport const { main } = load("main");\n`]
      : [`${name}.cjs`, `module.exports = require("./compiled-parts.cjs")(${JSON.stringify(name)});\n`];
  writeFileSync(join(bundleFolder, file), text);
}
