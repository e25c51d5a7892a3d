// `hone schemas`: whether schemas are served exactly as constraints, here on this machine, without a server.
import { readFileSync } from "node:fs";
import type { Command } from "commander";
import type { SettingsOverrides } from "../../server/settings.ts";
import { invalid, ServiceError } from "../../../base/domain/service-error.ts";
import { isExactObject, type ExactJson } from "../../../base/domain/text/exact-json.ts";
import type { SchemaChecker } from "../../server/constraints/check-schemas.ts";
import { checkLines } from "../schemas/check-lines.ts";
import {
  caseFields,
  checkCase,
  parsedJson,
  readCase,
  type CheckedCase,
  type SchemaCase,
} from "../schemas/schema-case.ts";

interface CheckFlags {
  readonly instance?: readonly string[];
  readonly json?: boolean;
  readonly jsonl?: boolean;
  readonly tokenizer?: string;
}

const about = `
A file holds a JSON Schema, or {"schema": ..., "tests": [{"valid": true, "data": ...}]}, each test with a value and
whether it is valid. Values are taken with their properties in the schema's order, as an answer would have them, and
written with the tokens of a vocabulary: a built one of 128,000 tokens, about as those of today's models, or that of
--tokenizer. What costs more than the limits of a server here at any token is reported with its place.

The status is 1 where a schema is refused, where a test does not come out as it says, and where a file cannot be read.
With --jsonl it is 1 only where a line cannot be read: what else there is to say stands in the lines and the summary.`;

export function addSchemasCommand(program: Command, limits: SettingsOverrides = {}): void {
  const schemas = program.command("schemas").description("JSON Schemas as constraints of answers.");
  schemas
    .command("check [files...]")
    .description(
      "Say whether schemas are served exactly, and whether values could be an answer; no server needed.",
    )
    .option("--instance <file>", "a JSON value that every schema is checked with; may be repeated", gathered)
    .option(
      "--jsonl",
      "files (or standard input, also as -) hold a line {name, schema, tests} for each schema",
    )
    .option("--json", "as JSON")
    .option("--tokenizer <path>", "a model folder or a tokenizer.json, to write values with its tokens")
    .addHelpText("after", about)
    .action(async (files: readonly string[], flags: CheckFlags) => {
      const { createSchemaChecker } = await import("../../server/constraints/check-schemas.ts");
      const checkSchema = await createSchemaChecker(flags.tokenizer ?? null, limits.constraints);
      const isFine =
        flags.jsonl === true
          ? await checkLines(checkSchema, files.length === 0 ? ["-"] : files)
          : checkFiles(checkSchema, files, flags);
      if (!isFine) process.exitCode = 1;
    });
}

const gathered = (file: string, before: readonly string[] = []): readonly string[] => [...before, file];

/** Whether every schema is served and every test comes out as it says. */
function checkFiles(
  checkSchema: SchemaChecker,
  files: readonly string[],
  { instance = [], json }: CheckFlags,
): boolean {
  if (files.length === 0) throw invalid("Name a file with a schema, or give --jsonl.");
  const values = instance.map((file) => ({ file, data: readJson(file) }));
  const checked = files.map((file) => {
    const { schema, tests, name } = readSchemaFile(file);
    const given = values.map(({ data }) => ({ valid: null, data }));
    return checkCase(checkSchema, { name, schema, tests: [...tests, ...given] });
  });
  if (json === true) process.stdout.write(`${JSON.stringify(checked.map(caseFields), null, 2)}\n`);
  else for (const one of checked) show(one, instance);
  return checked.every(
    ({ check, tests }) =>
      check.refusal === null && tests.every(({ valid, accepted }) => valid === null || valid === accepted),
  );
}

/** A schema that has a property `schema` of its own would be one with tests only if it also had no keyword beside. */
function readSchemaFile(file: string): SchemaCase {
  const value = readJson(file);
  const isCase =
    isExactObject(value) && Object.keys(value).every((key) => ["name", "schema", "tests"].includes(key));
  if (!isCase || value["schema"] === undefined) return { name: file, schema: value, tests: [] };
  return { ...named(file, () => readCase(value, file)), name: file };
}

function readJson(file: string): ExactJson {
  return named(file, () => parsedJson(readText(file)));
}

function readText(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new ServiceError({ code: "invalid", message: `cannot be read: ${why}`, cause });
  }
}

/** Puts the file before what is wrong with it. */
function named<T>(file: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    throw new ServiceError({ code: error.code, message: `${file} ${error.message}`, cause: error });
  }
}

function show({ name, check, tests }: CheckedCase, instanceFiles: readonly string[]): void {
  const { refusal, notices, compileMs } = check;
  const write = (line: string): void => void process.stdout.write(`${line}\n`);
  if (refusal !== null) write(`${name}: refused. ${refusal.message}`);
  else write(`${name}: served exactly (compiled in ${compileMs.toFixed(1)} ms).`);
  for (const notice of notices) write(`  note: ${notice}`);
  const testCount = tests.length - instanceFiles.length;
  for (const [index, { valid, accepted, limit, place }] of tests.entries()) {
    const what = index < testCount ? `test ${index}` : instanceFiles[index - testCount];
    const says = valid === null ? "" : `, said to be ${valid ? "valid" : "invalid"}`;
    const reached = limit === null ? "" : ` (${limit}${place === "" ? "" : ` at ${place}`})`;
    write(`  ${what}${says}: ${accepted ? "could be an answer" : `could not be an answer${reached}`}`);
  }
}
