// Validates the content of an annotation queue and reports every fault. Locations of faults use the domain's field
// names, not those of the API.
import { answerFormOf, type Question } from "../../base/domain/annotation/question.ts";
import type { QueueContent } from "../../base/domain/annotation/queue.ts";
import { type Fault, quoted, ServiceError } from "../../base/domain/service-error.ts";
import { parseReference } from "../feedback/references.ts";
import { specName } from "./asked-questions.ts";

/**
 * Checks those fields of a queue's content that are present.
 *
 * @throws ServiceError `invalid` with every fault
 */
export function checkQueueContent(content: Partial<QueueContent>, questionsMax: number): void {
  const { name, description, scorerRefs = [], questions = [] } = content;
  const faults: Fault[] = [
    ...(name === undefined ? [] : textFaults(["name"], name, 256)),
    ...(description === undefined ? [] : textFaults(["description"], description, 65_536, 0)),
    ...scorerRefs.flatMap((reference, index) => referenceFaults(reference, ["scorerRefs", String(index)])),
    ...questions.flatMap((question, index) => questionFaults(question, ["questions", String(index)])),
    ...repeatedNames(scorerRefs, questions),
  ];
  if (scorerRefs.length + questions.length > questionsMax) {
    const message = `The queue has ${scorerRefs.length + questions.length} questions; the limit is ${questionsMax}`;
    faults.push({ location: ["questions"], message, type: "too_long" });
  }
  if (faults.length > 0) throw new ServiceError({ code: "invalid", faults });
}

/** Returns the faults of a text from a caller: too many characters, or characters that a database cannot store. */
export function textFaults(
  location: readonly string[],
  text: string,
  lengthMax: number,
  lengthMin = 1,
): readonly Fault[] {
  const field = location.at(-1) ?? "";
  const length = Array.from(text).length;
  const fault = (message: string, type: string): readonly Fault[] => [
    { location, message: `${field} ${message}`, type },
  ];
  if (length < lengthMin) return fault("is empty; it must have at least 1 character", "string_too_short");
  if (length > lengthMax)
    return fault(`has ${length} characters; the limit is ${lengthMax}`, "string_too_long");
  return /[\0\p{Surrogate}]/u.test(text) ? fault("holds a character that is not text", "value_error") : [];
}

function referenceFaults(reference: string, location: readonly string[]): readonly Fault[] {
  const parsed = parseReference(reference);
  const wrong = parsed.isValid ? "it must be of an object" : parsed.reason;
  if (specName(reference) !== null) return textFaults(location, reference, 2048);
  const message = `${quoted(reference)} is not a reference of an annotation spec: ${wrong}`;
  return [{ location, message, type: "value_error" }];
}

function questionFaults({ name, text, schema }: Question, location: readonly string[]): readonly Fault[] {
  const read = answerFormOf(schema);
  return [
    ...textFaults([...location, "name"], name, 128),
    ...textFaults([...location, "text"], text, 4096, 0),
    ...("fault" in read
      ? [{ location: [...location, "schema"], message: read.fault, type: "value_error" }]
      : []),
  ];
}

/** Returns a fault for each repeated question name. Names must be unique, because answers are stored by name. */
function repeatedNames(scorerRefs: readonly string[], questions: readonly Question[]): readonly Fault[] {
  const places = [
    ...scorerRefs.map((reference, index) => ({
      name: specName(reference) ?? reference,
      location: ["scorerRefs", String(index)],
    })),
    ...questions.map(({ name }, index) => ({ name, location: ["questions", String(index), "name"] })),
  ];
  const seen = new Set<string>();
  return places.flatMap(({ name, location }) => {
    if (!seen.has(name)) {
      seen.add(name);
      return [];
    }
    const message = `another question of the queue has the name ${quoted(name)}; give each a unique name`;
    return [{ location, message, type: "value_error" }];
  });
}
