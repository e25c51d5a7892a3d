// `hone schemas`: check without a server whether JSON schemas can be enforced exactly as constraints.
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
import { printJson } from "../json-output.ts";

interface CheckFlags {
  readonly instance?: readonly string[];
  readonly json?: boolean;
  readonly jsonl?: boolean;
  readonly tokenizer?: string;
}

const about = `
A file contains a JSON Schema, or {"schema": ..., "tests": [{"valid": true, "data": ...}]}. A test passes if its "valid" is
right: true if an answer can be the value "data", and false otherwise. Before the check, Hone puts the properties of a value
into the schema's order, as in answers. It then writes the value in the tokens of --tokenizer, or of a built-in vocabulary
of 128,000 tokens. The output names each place where a token exceeds the server's limits.

The exit status is 1 if a schema is refused, a test fails, or a file cannot be read. With --jsonl, it is 1 only if a line
cannot be read; the output and its summary contain all other results.`;

export function addSchemasCommand(program: Command, limits: SettingsOverrides = {}): void {
  const schemas = program.command("schemas").description("Check JSON Schemas for constrained answers.");
  schemas
    .command("check [files...]")
    .description(
      "Check whether Hone can enforce JSON Schemas exactly, and whether given values are possible answers. The check needs no server.",
    )
    .option("--instance <file>", "file with a JSON value to check against all schemas; repeatable", gathered)
    .option(
      "--jsonl",
      "read one object {name, schema, tests} per line, from the files, or from standard input (without a file, or with -)",
    )
    .option("--json", "print JSON")
    .option("--tokenizer <path>", "use the vocabulary of this model folder or tokenizer.json")
    .addHelpText("after", about)
    .action(async (files: readonly string[], flags: CheckFlags) => {
      const { createSchemaChecker } = await import("../../server/constraints/check-schemas.ts");
      const checkSchema = await createSchemaChecker(flags.tokenizer ?? null, limits.constraints);
      const isFine =
        flags.jsonl === true
          ? await checkLines(checkSchema, files.length === 0 ? ["-"] : files, flags)
          : checkFiles(checkSchema, files, flags);
      if (!isFine) process.exitCode = 1;
    });
}

const gathered = (file: string, before: readonly string[] = []): readonly string[] => [...before, file];

/** Checks schema files and prints the results. Returns true if no schema is refused and every test passes. */
function checkFiles(
  checkSchema: SchemaChecker,
  files: readonly string[],
  { instance = [], ...flags }: CheckFlags,
): boolean {
  if (files.length === 0) throw invalid("Name a schema file, or pass --jsonl.");
  const values = instance.map((file) => ({ file, data: readJson(file) }));
  const checked = files.map((file) => {
    const { schema, tests, name } = readSchemaFile(file);
    const given = values.map(({ data }) => ({ valid: null, data }));
    return checkCase(checkSchema, { name, schema, tests: [...tests, ...given] });
  });
  if (flags.json === true) printJson(checked.map(caseFields), flags);
  else for (const one of checked) show(one, instance);
  return checked.every(
    ({ check, tests }) =>
      check.refusal === null && tests.every(({ valid, accepted }) => valid === null || valid === accepted),
  );
}

/**
 * Reads a file with a schema, or with a schema and its tests. The file counts as a schema with tests if it is an object
 * with the member `schema` and no members other than `name`, `schema` and `tests`.
 */
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

/** Runs `read`. Puts the file's name in front of the message of an error. */
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
    const says = valid === null ? "" : `, marked ${valid ? "valid" : "invalid"}`;
    const reached = limit === null ? "" : ` (${limit}${place === "" ? "" : ` at ${place}`})`;
    write(`  ${what}${says}: ${accepted ? "accepted" : `not accepted${reached}`}`);
  }
}
