// API format of the files that belong to traces.
import { Type } from "typebox";
import type { Fault } from "../../../base/domain/service-error.ts";
import type { BodyForm } from "../body.ts";
import { digestField, projectIdField } from "./objects.ts";

/** Used only for the documentation: the form is parsed without it, while it arrives. */
export const fileCreateSchema = Type.Object(
  {
    project_id: projectIdField,
    expected_digest: Type.Optional(
      Type.String({
        description:
          "Digest that the client computed. The answer is 409 if the server computes a different one.",
      }),
    ),
    file: Type.String({ format: "binary", description: "Content of the file; at most 64 MiB." }),
  },
  { title: "WeaveFileCreateReq" },
);

const fileContentSchema = Type.Object(
  { project_id: projectIdField, digest: digestField },
  { title: "WeaveFileContentReq" },
);
export const fileContentForm: BodyForm<typeof fileContentSchema> = { schema: fileContentSchema };

/** Returns a fault for each text field that is missing in an uploaded form. */
export function textFieldFaults(fields: ReadonlyMap<string, unknown>): readonly Fault[] {
  if (fields.has("project_id")) return [];
  return [{ location: ["body", "project_id"], message: "Field required", type: "missing" }];
}
