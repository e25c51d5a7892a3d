// API format of uploads that arrive in parts, as in OpenAI's API.
import { Type, type Static } from "typebox";
import type { Upload, UploadPart } from "../../../base/domain/uploads/upload.ts";
import type { UploadedFile } from "../../../base/domain/uploads/uploaded-file.ts";
import { report } from "../../../base/validation/findings.ts";
import { type BodyForm, never } from "../body.ts";
import { answerOf } from "../fields/resource.ts";
import { nullable } from "../nullable.ts";
import { fileAnswer, fileNameFault, filePurpose, unixSecondsOf } from "./file.ts";

/** Returns the form of a request that creates an upload of at most `bytesMax` bytes. */
export function uploadCreationForm(bytesMax: number) {
  const schema = Type.Object(
    {
      filename: Type.String({ description: "Name of the file that the upload becomes." }),
      purpose: Type.Enum([filePurpose], {
        description: "Purpose of the file. Only this purpose is supported.",
      }),
      bytes: Type.Integer({ minimum: 1, maximum: bytesMax, description: "Size of the whole file in bytes." }),
      mime_type: Type.String({
        minLength: 1,
        maxLength: 255,
        description: "Type of the file. Hone does not use it, and checks the file's lines instead.",
      }),
      expires_after: nullable(Type.Object({}, { additionalProperties: true }), {
        description: "Not supported; must be absent.",
      }),
    },
    { title: "UploadCreate" },
  );
  const form: BodyForm<typeof schema> = {
    schema,
    fields: { expires_after: { refusedUnless: never, cure: "leave it out, and delete the file yourself" } },
    more: ({ filename }, findings) => {
      const fault = typeof filename === "string" ? fileNameFault(filename) : null;
      if (fault !== null) report(findings, fault.type, fault.message, "filename");
    },
  };
  return form;
}

/** Used only for the documentation: a part is parsed without it, while it arrives. */
export const partSchema = Type.Object(
  { data: Type.String({ format: "binary", description: "Bytes of the part, at most 64 MiB." }) },
  { title: "UploadPartCreate" },
);

const completionSchema = Type.Object(
  {
    part_ids: Type.Array(Type.String({ minLength: 1, maxLength: 100 }), {
      minItems: 1,
      maxItems: 1000,
      description: "Ids of the parts in the order of their bytes. Other parts are discarded.",
    }),
    md5: nullable(Type.String({ pattern: "^[0-9a-fA-F]{32}$" }), {
      description:
        "MD5 hash of the whole file in hexadecimal. If the file has another hash, the upload stays pending.",
    }),
  },
  { title: "UploadComplete" },
);

export const uploadCompletionForm: BodyForm<typeof completionSchema> = { schema: completionSchema };

export const partAnswer = answerOf<UploadPart & { readonly uploadId: string }>()("UploadPart", {
  id: Type.String(),
  object: [Type.Enum(["upload.part"]), () => "upload.part" as const],
  upload_id: Type.String(),
  created_at: [Type.Integer({ description: "Unix time in seconds." }), unixSecondsOf],
});

export const uploadSchema = Type.Object(
  {
    id: Type.String(),
    object: Type.Enum(["upload"]),
    bytes: Type.Integer({ description: "Announced size of the file in bytes." }),
    created_at: Type.Integer({ description: "Unix time in seconds." }),
    expires_at: Type.Integer({ description: "Unix time in seconds at which a pending upload expires." }),
    filename: Type.String(),
    purpose: Type.String(),
    status: Type.Enum(["pending", "completed", "cancelled"]),
    file: nullable(fileAnswer.schema, { description: "The file; only of a completed upload." }),
  },
  { title: "Upload" },
);

/** @param file file that the completed upload has become; null if the upload is not complete */
export function uploadBody(
  { id, byteCount, createdAt, expiresAt, name, purpose }: Upload,
  status: Upload["state"],
  file: UploadedFile | null,
): Static<typeof uploadSchema> {
  return {
    id,
    object: "upload",
    bytes: byteCount,
    created_at: unixSecondsOf({ createdAt }),
    expires_at: unixSecondsOf({ createdAt: expiresAt }),
    filename: name,
    purpose,
    status,
    file: file === null ? null : fileAnswer.body(file),
  };
}
