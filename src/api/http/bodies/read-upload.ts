// Reads an upload: a form with one file and a purpose.
import type { FastifyRequest } from "fastify";
import type { FileWriter, ReceivedFile } from "../../../train/uploads/file-writer.ts";
import { present } from "../../../base/domain/assert.ts";
import { quoted, type Fault } from "../../../base/domain/service-error.ts";
import { fileNameFault, filePurpose } from "../../wire/files/file.ts";
import { missingFile, receiveForm, type ReceivedForm } from "./receive-form.ts";

export interface Upload {
  readonly received: ReceivedFile;
  readonly name: string;
  readonly purpose: string;
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
  const { file } = await receiveForm(request, files, { fileField: "file", faultsIn: uploadFaults });
  const { received, name } = present(file, "the file of a checked form");
  return { received, name, purpose: filePurpose };
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

/** Returns a fault if the form asks for an expiry of the file, which the server does not support. */
function expiryFaults(fields: ReadonlyMap<string, unknown>): readonly Fault[] {
  const field = [...fields.keys()].find((name) => name.startsWith("expires_after"));
  if (field === undefined) return [];
  const message =
    "expires_after is not supported by this server; leave it out, and delete the file yourself.";
  return [{ location: ["body", field], message, type: "unsupported" }];
}
