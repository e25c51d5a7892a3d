// Uploaded files as OpenAI's interface spells them.
import { Type, type Static } from "typebox";
import type { UploadedFile } from "../../../base/domain/uploads/uploaded-file.ts";
import { pageQueryFields, pageSchema } from "../page.ts";

/** What files are uploaded for: the only use there is of one. */
export const filePurpose = "fine-tune";

export const fileQuerySchema = Type.Object({
  ...pageQueryFields,
  purpose: Type.Optional(Type.String({ description: "Only files uploaded for this." })),
});

/** For the document: the form is read as it comes. */
export const uploadSchema = Type.Object(
  {
    purpose: Type.Enum([filePurpose], { description: "What it is for." }),
    file: Type.String({ format: "binary", description: "Its bytes, with its name." }),
  },
  { title: "FileUpload" },
);

export const fileSchema = Type.Object(
  {
    id: Type.String(),
    object: Type.Enum(["file"]),
    bytes: Type.Integer({ minimum: 0 }),
    created_at: Type.Integer({ description: "Seconds since 1970." }),
    filename: Type.String(),
    purpose: Type.String(),
    status: Type.Enum(["processed"], { description: "A file is ready when it is answered." }),
  },
  { title: "File" },
);
export const filePageSchema = pageSchema(fileSchema);

export const fileDeletionSchema = Type.Object({
  id: Type.String(),
  object: Type.Enum(["file"]),
  deleted: Type.Boolean(),
});

export function fileBody(file: UploadedFile): Static<typeof fileSchema> {
  return {
    id: file.id,
    object: "file",
    bytes: file.byteCount,
    created_at: Math.floor(file.createdAt.getTime() / 1000),
    filename: file.name,
    purpose: file.purpose,
    status: "processed",
  };
}
