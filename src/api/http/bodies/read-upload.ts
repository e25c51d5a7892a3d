// Reads an upload: a form with one file and a purpose.
import type { FastifyRequest } from "fastify";
import type { FileWriter, ReceivedFile } from "../../../train/uploads/file-writer.ts";
import { present } from "../../../base/domain/assert.ts";
import { quoted, type Fault } from "../../../base/domain/service-error.ts";
import { fileNameFault, filePurpose, lifeSeconds } from "../../wire/files/file.ts";
import { missingFile, receiveForm, type ReceivedForm } from "./receive-form.ts";

const anchorField = "expires_after[anchor]";
const secondsField = "expires_after[seconds]";

export interface Upload {
  readonly received: ReceivedFile;
  readonly name: string;
  readonly purpose: string;
  /** Number of seconds after which the file expires; null if it does not. */
  readonly lifeSeconds: number | null;
}

/**
 * Reads an upload form. Stores the file while it arrives, and deletes it again if the form turns out to be invalid.
 *
 * @throws ServiceError `invalid` with the form's faults, `too_large`, `unavailable`; 415 if the body is not a form
 */
export async function readUpload(
  request: FastifyRequest,
  files: Pick<FileWriter, "receive" | "discard">,
): Promise<Upload> {
  const { file, fields } = await receiveForm(request, files, { fileField: "file", faultsIn: uploadFaults });
  const { received, name } = present(file, "the file of a checked form");
  const life = fields.get(secondsField);
  return { received, name, purpose: filePurpose, lifeSeconds: life === undefined ? null : Number(life) };
}

function uploadFaults({ file, fields }: ReceivedForm<ReceivedFile>): readonly Fault[] {
  return [
    ...purposeFaults(fields.get("purpose")),
    ...expiryFaults(fields),
    ...(file === null ? [missingFile("file")] : nameFaults(file.name)),
  ];
}

function purposeFaults(purpose: unknown): readonly Fault[] {
  if (purpose === filePurpose) return [];
  const location = ["body", "purpose"];
  if (purpose === undefined) return [{ location, message: "Field required", type: "missing" }];
  const message = `Input should be '${filePurpose}', got ${quoted(typeof purpose === "string" ? purpose : typeof purpose)}: files are only for training.`;
  return [{ location, message, type: "literal_error" }];
}

function nameFaults(name: string): readonly Fault[] {
  const fault = fileNameFault(name);
  return fault === null ? [] : [{ location: ["body", "file"], ...fault }];
}

/** Returns the faults of the fields that set the expiry of the file. */
function expiryFaults(fields: ReadonlyMap<string, unknown>): readonly Fault[] {
  const given = [...fields].filter(([name]) => name.startsWith("expires_after"));
  if (given.length === 0) return [];
  const faults = given.flatMap(([name, value]) => {
    const expected = expiryForms[name];
    if (expected?.isValid(value) === true) return [];
    const cure = expected === undefined ? "leave it out" : `it must be ${expected.form}`;
    const shown = quoted(typeof value === "string" ? value : typeof value);
    return [{ location: ["body", name], message: `${name} is ${shown}; ${cure}.`, type: "value_error" }];
  });
  const missing = Object.keys(expiryForms).filter((name) => !fields.has(name));
  return [
    ...faults,
    ...missing.map((name) => ({ location: ["body", name], message: "Field required", type: "missing" })),
  ];
}

const expiryForms: Readonly<
  Partial<Record<string, { readonly form: string; readonly isValid: (value: unknown) => boolean }>>
> = {
  [anchorField]: { form: "created_at", isValid: (value) => value === "created_at" },
  [secondsField]: {
    form: `a whole number from ${lifeSeconds.min} to ${lifeSeconds.max}`,
    isValid: (value) =>
      /^\d{1,9}$/.test(String(value)) && Number(value) >= lifeSeconds.min && Number(value) <= lifeSeconds.max,
  },
};
