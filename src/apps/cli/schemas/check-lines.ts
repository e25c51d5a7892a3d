// Checks the schemas of a file of lines, one JSON document each, as they come: for suites of any size.
import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import type { SchemaChecker } from "../../server/constraints/check-schemas.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import { caseFields, checkCase, parsedJson, readCase } from "./schema-case.ts";
import { Summary } from "./summary.ts";

/**
 * Prints a line of JSON for each line, and a summary on standard error. A line that is no schema is named there.
 *
 * @param files in this order; `-` is standard input
 * @returns whether every line was one
 */
export async function checkLines(checkSchema: SchemaChecker, files: readonly string[]): Promise<boolean> {
  const summary = new Summary();
  let faultCount = 0;
  for (const file of files) {
    const source = file === "-" ? "standard input" : file;
    let number = 0;
    for await (const line of createInterface({
      input: file === "-" ? process.stdin : createReadStream(file),
      crlfDelay: Number.POSITIVE_INFINITY,
    })) {
      number += 1;
      if (line.trim() === "") continue;
      try {
        const checked = checkCase(checkSchema, readCase(parsedJson(line), `line ${number}`));
        summary.add(checked);
        process.stdout.write(`${JSON.stringify(caseFields(checked))}\n`);
      } catch (error) {
        if (!(error instanceof ServiceError)) throw error;
        faultCount += 1;
        process.stderr.write(`hone: ${source}, line ${number} ${error.message}\n`);
      }
    }
  }
  for (const line of summary.lines()) process.stderr.write(`${line}\n`);
  return faultCount === 0;
}
