// API format of lines in the server's log.
import { Type } from "typebox";
import { lineLevels } from "../../../base/domain/logs/log-line.ts";
import { pageQueryFields } from "../page.ts";

export const logQuerySchema = Type.Object({
  ...pageQueryFields,
  level: Type.Optional(
    Type.Enum([...lineLevels], {
      default: "debug",
      description: "Only lines of this level or a more severe one.",
    }),
  ),
});

export const logLineSchema = Type.Object(
  {
    id: Type.String({
      description:
        "Id of the line: `<start>-<number>`. The prefix identifies the start of the server; the number increases by one with each line.",
    }),
    time: Type.String({ description: "Time at which the line was written." }),
    level: Type.Enum([...lineLevels]),
    message: Type.String(),
    fields: Type.Record(Type.String(), Type.Unknown(), {
      description: "Further members of the line, such as `requestId` or `jobId`.",
    }),
  },
  { title: "LogLine" },
);
