// Reads a grader and finds its faults, such as an unknown type, wrong fields, unknown variables or a wrong formula.
import type { Grader } from "../../../base/domain/fine-tuning/grader.ts";
import { quoted, ServiceError } from "../../../base/domain/service-error.ts";
import { check } from "../../../base/validation/check.ts";
import {
  isObject,
  newFindings,
  refuseFaults,
  report,
  type Findings,
} from "../../../base/validation/findings.ts";
import { parseFormula } from "../../../train/graders/formula.ts";
import { isKnownReference, referencesIn } from "../../../train/graders/template.ts";
import { graderSchemas } from "./grader-schemas.ts";

/** Maximum number of graders in a multi-grader. */
const gradersMax = 32;

/**
 * Reads a grader of a request.
 *
 * @param place path of the grader in the body
 * @throws ServiceError `invalid` with every fault; `unsupported` for a type or metric that this server lacks
 */
export function readGrader(value: unknown, place: readonly string[]): Grader {
  const findings = newFindings("body", ...place);
  checkGrader(value, findings, { isInner: false });
  refuseFaults(findings);
  // Safe cast: the check found no fault.
  return value as Grader;
}

type Value = Readonly<Record<string, unknown>>;

function checkGrader(value: unknown, findings: Findings, { isInner }: { readonly isInner: boolean }): void {
  if (!isObject(value)) return report(findings, "value_error", "A grader is an object with a type.");
  const { type } = value;
  if (type === "python") throw unsupported(findings, "type", pythonFault);
  const types = Object.keys(graderSchemas).filter((known) => !isInner || known !== "multi");
  if (typeof type !== "string" || !types.includes(type))
    return report(
      findings,
      "value_error",
      `The type is ${quoted(String(type))}; it must be ${types.join(", ")}.`,
      "type",
    );
  const { evaluation_metric: metric } = value;
  if (metric === "meteor") throw unsupported(findings, "evaluation_metric", meteorFault);
  // Safe cast: the type is a name of a schema.
  if (!check(graderSchemas[type as Grader["type"]], value, findings)) return;
  if (type === "multi") checkMulti(value, findings);
  for (const field of ["input", "reference"]) checkTemplates(value[field], findings, field);
  checkRange(value, findings);
  checkLabels(value, findings);
}

const pythonFault =
  'The grader "python" is not supported, because this server runs no code of clients. Use text_similarity, score_model or multi, or reward answers from your own program (docs/guides/rl-loop.md).';

const meteorFault =
  "The metric meteor is not supported, because it needs WordNet, a dictionary of synonyms that this server does not have. Use rouge_l, gleu, fuzzy_match or cosine, or a score_model.";

function checkMulti({ graders, calculate_output: formula }: Value, findings: Findings): void {
  const entries = isObject(graders) ? Object.entries(graders) : [];
  // OpenAI's types allow a single grader instead of a map in `graders`. Hone refuses it, because the formula refers to
  // graders by name.
  const isSingle = isObject(graders) && typeof graders["type"] === "string";
  if (isSingle || entries.length === 0 || entries.length > gradersMax)
    return report(
      findings,
      "value_error",
      `Give 1 to ${gradersMax} graders by the names that the formula uses, as {"accuracy": {…}}.`,
      "graders",
    );
  for (const [name, grader] of entries) {
    findings.path.push("graders", name);
    checkGrader(grader, findings, { isInner: true });
    findings.path.length -= 2;
  }
  try {
    parseFormula(
      String(formula),
      entries.map(([name]) => name),
    );
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    report(findings, "value_error", error.message, "calculate_output");
  }
}

function checkTemplates(value: unknown, findings: Findings, ...place: readonly string[]): void {
  if (typeof value === "string") {
    const unknown = referencesIn(value).find((path) => !isKnownReference(path));
    if (unknown === undefined) return;
    const message = `There is no variable ${quoted(unknown)}; use item, sample.output_text, sample.output_json or sample.output_tools.`;
    return report(findings, "value_error", message, ...place);
  }
  if (Array.isArray(value))
    return value.forEach((part: unknown, index) => checkMessage(part, findings, [...place, String(index)]));
}

/** Checks a message, or a part of its content. Only text can be graded. */
function checkMessage(value: unknown, findings: Findings, place: readonly string[]): void {
  if (typeof value === "string") return checkTemplates(value, findings, ...place);
  const field = isObject(value) && "role" in value ? "content" : "text";
  const content = isObject(value) ? value[field] : undefined;
  if (typeof content === "string" || (field === "content" && Array.isArray(content)))
    return checkTemplates(content, findings, ...place, field);
  if (field === "content" && isObject(content)) return checkMessage(content, findings, [...place, field]);
  report(findings, "unsupported", "Only text can be graded.", ...place, field);
}

function checkRange({ range }: Value, findings: Findings): void {
  if (Array.isArray(range) && Number(range[0]) >= Number(range[1]))
    report(findings, "value_error", "The range gives the lowest score first, then the highest.", "range");
}

function checkLabels({ labels, passing_labels: passing }: Value, findings: Findings): void {
  if (!Array.isArray(labels) || !Array.isArray(passing)) return;
  const other: unknown = passing.find((label) => !labels.includes(label));
  if (other !== undefined)
    report(
      findings,
      "value_error",
      `${quoted(JSON.stringify(other))} is not among the labels.`,
      "passing_labels",
    );
}

function unsupported({ path }: Findings, field: string, message: string): ServiceError {
  return new ServiceError({
    code: "unsupported",
    faults: [{ location: [...path, field], message, type: "unsupported" }],
  });
}
