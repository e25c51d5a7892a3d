// Checks the constraint engine against its naive twin and another validator at full size: masks of random constraints
// on three vocabularies, token by token, and random texts under random schemas. `npm test` does a share of it.
import { parseArgs } from "node:util";
import { packVocabulary, unpackVocabulary } from "../src/domain/vocabulary.ts";
import { freshSeed, seededRandom } from "../src/domain/random.ts";
import { checkMasks } from "../src/grammar/testing/check-masks.ts";
import { checkWalks } from "../src/grammar/testing/check-walks.ts";
import { checkServed, randomConstraints, randomSchemas } from "../src/grammar/testing/random-constraints.ts";
import { byteFallbackTokens, byteLevelTokens } from "../src/grammar/testing/vocabularies.ts";
import { buildTokenTrie } from "../src/grammar/trie/token-trie.ts";

const help = `Usage: node dist/bench/grammar-proof.js [flags]
  --constraints <count>  random constraints whose masks are checked          (100)
  --walks <count>        random texts under random schemas                   (10000)
  --tried <tokens>       tokens of a vocabulary that are tried for a mask    (49152)
  --seed <number>        check the same again                                (a fresh one, printed)
Ends with the first fault; prints what was checked.`;

const { values } = parseArgs({
  options: {
    help: { type: "boolean", default: false },
    constraints: { type: "string", default: "100" },
    walks: { type: "string", default: "10000" },
    tried: { type: "string", default: "49152" },
    seed: { type: "string" },
  },
});
if (values.help) {
  print(help);
  process.exit();
}
const seed = Number(values.seed ?? freshSeed());
const thoroughness = { placeCount: 1, triedTokenCount: Number(values.tried) };
const walksPerSchema = 4;
const vocabularies = [byteLevelTokens(1_024), byteLevelTokens(49_152), byteFallbackTokens(4_096)];
const tries = vocabularies.map((tokens) =>
  buildTokenTrie({ bytes: unpackVocabulary(packVocabulary(tokens)) }),
);
const random = seededRandom(seed, "a proof");

print(`seed ${seed}`);
let triedCount = 0;
checkServed(randomConstraints, { seed, count: Number(values.constraints) }, (constraint) => {
  triedCount += checkMasks(constraint, tries, { random, ...thoroughness });
});
print(
  `${values.constraints} constraints on ${tries.length} vocabularies: masks are right, ${triedCount} tokens tried`,
);
const counts = { finished: 0, judged: 0, cut: 0 };
const schemaCount = Math.ceil(Number(values.walks) / walksPerSchema);
checkServed(randomSchemas, { seed, count: schemaCount }, (schema) => {
  const trie = tries[random.index(tries.length)];
  const { finished, judged, cut } = checkWalks(schema, trie, { random, walkCount: walksPerSchema });
  counts.finished += finished;
  counts.judged += judged;
  counts.cut += cut;
});
print(
  `${schemaCount} schemas: no dead end on ${counts.finished + counts.cut} texts, ${counts.finished} finished, ${counts.judged} judged, all valid`,
);

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
