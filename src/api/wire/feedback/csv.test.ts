import assert from "node:assert/strict";
import { test } from "node:test";
import type { FeedbackRecord } from "../../../base/domain/feedback.ts";
import type { JsonObject } from "../../../base/domain/text/json.ts";
import { csvWriter } from "./csv.ts";

const record = (payload: JsonObject, changes: Partial<FeedbackRecord> = {}): FeedbackRecord => ({
  id: "a",
  projectId: "team/games",
  vendorRef: "w:///team/games/call/1",
  feedbackType: "note",
  payload,
  creator: null,
  annotationRef: null,
  runnableRef: null,
  callRef: null,
  triggerRef: null,
  queueId: null,
  createdAt: new Date(0),
  vendorUserId: "Ann",
  contentHash: "",
  ...changes,
});

/** Returns the CSV cell of a payload's member `x` with this value. */
const cellOf = (x: JsonObject[string]): string =>
  csvWriter(["payload.x"]).line(record({ x })).replace(/\r\n$/, "");

test("writes one column per field, without its alias, and the payload as JSON", () => {
  const { header, line } = csvWriter(null);
  assert.equal(
    header,
    "id,created_at,project_id,vendor_ref,feedback_type,payload,creator,vendor_user_id,annotation_ref,runnable_ref,call_ref,trigger_ref,queue_id\r\n",
  );
  assert.equal(
    line(record({ note: "good" })),
    'a,1970-01-01T00:00:00.000Z,team/games,w:///team/games/call/1,note,"{""note"":""good""}",,Ann,,,,,\r\n',
  );
});

// Python's csv module reads these cells back as the original values, except for the apostrophe before a formula.
test("quotes cells as in RFC 4180, and distinguishes an empty text from null", () => {
  assert.equal(cellOf("plain text"), "plain text");
  assert.equal(cellOf('a "word", and\nanother'), '"a ""word"", and\nanother"');
  assert.equal(cellOf([1, "b"]), '"[1,""b""]"');
  assert.deepEqual([cellOf(null), cellOf(""), cellOf(true), cellOf(-1.5)], ["", '""', "true", "-1.5"]);
  assert.equal(csvWriter(["payload.y"]).line(record({ x: 1 })), "\r\n");
});

test("writes no text that a spreadsheet evaluates", () => {
  for (const text of ["=1+1", "+1", "-1", "@SUM(A1)", "\tx", "＝1+1", "＋1", "－1", "＠SUM(A1)"])
    assert.equal(cellOf(text), `'${text}`);
  assert.equal(cellOf("\r=1"), `"'\r=1"`);
  assert.equal(cellOf("\n=1"), `"'\n=1"`);
  assert.equal(cellOf('=HYPERLINK("http://x","y")'), `"'=HYPERLINK(""http://x"",""y"")"`);
});
