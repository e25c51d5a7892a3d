// Checks the schemas of JSON Lines files line by line, so that files may be of any size.
import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import type { SchemaChecker } from "../../server/constraints/check-schemas.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import { caseFields, checkCase, parsedJson, readCase } from "./schema-case.ts";
import { Summary } from "./summary.ts";
import { type JsonFlag, printJsonLine } from "../json-output.ts";

/**
 * Prints a JSON line per schema. Prints invalid lines and a summary to standard error.
 *
 * @param files read in this order; `-` is standard input
 * @returns true if all lines were valid
 */
export async function checkLines(
  checkSchema: SchemaChecker,
  files: readonly string[],
  flags: JsonFlag = {},
): Promise<boolean> {
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
        printJsonLine(caseFields(checked), flags);
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
