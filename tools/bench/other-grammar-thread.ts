// Thread of bench/other-grammar-engine.ts. In it, web-xgrammar compiles schemas and accepts texts.
import { readFileSync } from "node:fs";
import Module, { createRequire } from "node:module";
import { parentPort, workerData } from "node:worker_threads";
import type * as Library from "@mlc-ai/web-xgrammar";
import { present } from "../../src/base/domain/assert.ts";
import { unpackVocabulary } from "../../src/base/domain/vocabulary.ts";
import type { TokenVocabulary } from "../../src/base/domain/vocabulary.ts";
import { createTokenDecoder } from "../../src/lib/tokenizer/tokenizer-json.ts";
import { processorMs } from "./grammar-times.ts";
import type { ThreadAnswer, WritingRequest } from "./other-grammar-engine.ts";

/** Compiles the package's file as a CommonJS script. The package declares it as an ES module, but it is not one. */
function loaded(): typeof Library {
  const file = createRequire(import.meta.url).resolve("@mlc-ai/web-xgrammar");
  const script = Object.assign(new Module(file), { filename: file, paths: [] });
  // Node's own loader calls this method for CommonJS scripts, but its type is not declared.
  const compile = script as unknown as {
    _compile(text: string, file: string): void;
    exports: typeof Library;
  };
  // oxlint-disable-next-line no-underscore-dangle -- the loader's own name for it
  compile._compile(readFileSync(file, "utf8"), file.replace(/\.js$/, ".cjs"));
  return compile.exports;
}

const { GrammarCompiler, GrammarMatcher, TokenizerInfo } = loaded();

async function compilerFor(vocabulary: TokenVocabulary): Promise<Library.GrammarCompiler> {
  const decode = createTokenDecoder({ type: "ByteLevel" });
  const characterOf: string[] = [];
  // The order must be ascending. A control character that represents no byte decodes to itself, and is replaced by the
  // later character that represents this byte.
  for (let code = 0; code < 0x144; code++) {
    const bytes = decode(String.fromCharCode(code));
    if (bytes.length === 1) characterOf[bytes[0]] = String.fromCharCode(code);
  }
  const spelled = unpackVocabulary(vocabulary).map((token) =>
    token === null ? "<|end|>" : Array.from(token, (byte) => characterOf[byte]).join(""),
  );
  const end = spelled.indexOf("<|end|>");
  const info = await TokenizerInfo.createTokenizerInfo(spelled, "byte_level", false, spelled.length, [end]);
  return GrammarCompiler.createGrammarCompiler(info, false);
}

async function write(
  compiler: Library.GrammarCompiler,
  { schema, texts }: WritingRequest,
): Promise<ThreadAnswer> {
  const text = JSON.stringify(schema);
  const started = processorMs();
  // Allows any whitespace and undeclared properties, as Hone does.
  const grammar = await compiler.compileJSONSchema(text, true, undefined, undefined, false);
  const first = await GrammarMatcher.createGrammarMatcher(grammar);
  await first.getNextTokenBitmask();
  const firstMask = processorMs() - started;
  first.dispose();
  const betweenMasks: number[] = [];
  let acceptsAll = true;
  for (const tokens of texts) {
    const matcher = await GrammarMatcher.createGrammarMatcher(grammar);
    await matcher.getNextTokenBitmask();
    for (const token of tokens) {
      const before = processorMs();
      acceptsAll &&= matcher.acceptToken(token);
      if (!acceptsAll) break;
      await matcher.getNextTokenBitmask();
      betweenMasks.push(processorMs() - before);
    }
    matcher.dispose();
  }
  grammar.dispose();
  return { kind: "measured", times: { firstMask, betweenMasks }, acceptsAll };
}

const port = present(parentPort, "the port of the benchmark's thread");
// Safe cast: the benchmark passes these data to the thread.
const compiler = await compilerFor(workerData as TokenVocabulary);
port.on("message", (request: WritingRequest) => {
  write(compiler, request).then(
    (answer) => port.postMessage(answer),
    () => port.postMessage({ kind: "refused" } satisfies ThreadAnswer),
  );
});
port.postMessage("ready" satisfies ThreadAnswer);
