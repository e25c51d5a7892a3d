// Bodies that are not JSON: forms with a file, and tar archives of an adapter. Some are valid; others have a form that
// no program writes.
import { gzipSync } from "node:zlib";
import type { Random } from "../../src/base/domain/random.ts";
import { longText, oneOf } from "./odd-values.ts";

export const formType = "multipart/form-data; boundary=b";

const example = JSON.stringify({
  messages: [
    { role: "user", content: "Hi" },
    { role: "assistant", content: "Ho" },
  ],
});

interface Part {
  /** Value of the `content-disposition` header. */
  readonly about: string;
  readonly value: string;
}

const purposePart: Part = { about: "form-data; name=purpose", value: "fine-tune" };
const filePart: Part = { about: 'form-data; name=file; filename="a.jsonl"', value: `${example}\n` };

const dataPart: Part = { about: 'form-data; name=data; filename="part"', value: `${example}\n` };

export const validForm = formOf([purposePart, filePart]);

/** A form with a part of an upload in parts. */
export const validPart = formOf([dataPart]);

function formOf(parts: readonly Part[], boundary = "b", end = "--b--\r\n"): Buffer {
  const written = parts.map(
    ({ about, value }) => `--${boundary}\r\ncontent-disposition: ${about}\r\n\r\n${value}\r\n`,
  );
  return Buffer.from(written.join("") + end);
}

const oddParts: readonly Part[] = [
  { about: "form-data; name=purpose", value: "vision" },
  { about: "form-data; name=purpose", value: longText(5000) },
  { about: 'form-data; filename="a.jsonl"', value: example },
  { about: "form-data", value: "" },
  { about: "attachment; name=file", value: example },
  { about: 'form-data; name=file; filename=""', value: example },
  { about: `form-data; name=file; filename="${longText(400)}"`, value: example },
  { about: 'form-data; name="__proto__"; filename="../../x"', value: "{" },
  { about: 'form-data; name=file; filename="a"\r\ncontent-type: application/gzip', value: "\x1f\x8b\b\0" },
  { about: `form-data; name="${longText(300)}"`, value: "x" },
  { about: 'form-data; name=file; filename="a"', value: `${example}\n{"messages": 1}\n${longText(300)}` },
  { about: 'form-data; name=file; filename="a"', value: `${example}\n`.repeat(3000) },
];

export function oddForm(random: Random): Buffer {
  const parts = Array.from({ length: random.index(5) }, () =>
    oneOf(random, [purposePart, filePart, dataPart, ...oddParts]),
  );
  return formOf(
    parts,
    oneOf(random, ["b", "b", "b", "c", ""]),
    oneOf(random, ["--b--\r\n", "", "--b", "--b--"]),
  );
}

interface Entry {
  readonly name: string;
  readonly content: string;
  /** Type of the entry: `0` is a file, `2` a link, `x` a header for the following entry. */
  readonly type?: string;
  /** Declared size in bytes, if it differs from the content's length. */
  readonly size?: number;
}

const config: Entry = {
  name: "adapter_config.json",
  content: JSON.stringify({ peft_type: "LORA", r: 2, lora_alpha: 4, target_modules: ["q_proj"] }),
};
const tensors: Entry = { name: "adapter_model.safetensors", content: "\x02\0\0\0\0\0\0\0{}" };

export const validTar = tarOf([config, tensors]);

const oddEntries: readonly Entry[] = [
  { name: "../../x", content: "x" },
  { name: "/etc/x", content: "x" },
  { name: "", content: "" },
  { name: "adapter_config.json", content: "{" },
  { name: "adapter_config.json", content: "[]" },
  { name: "adapter_config.json", content: JSON.stringify({ peft_type: longText(500), r: -1 }) },
  { name: "adapter_model.safetensors", content: "\xff".repeat(64) },
  { name: "adapter_model.safetensors", content: "x", size: 1 << 30 },
  { name: "adapter_config.json", content: "/etc/passwd", type: "2" },
  { name: "x", content: "99 path=../../y\n", type: "x" },
  { name: longText(99), content: "x".repeat(5000) },
  { name: "dev", content: "", type: "3" },
];

export function oddTar(random: Random): Buffer {
  const entries = Array.from({ length: random.index(5) }, () =>
    oneOf(random, [config, tensors, ...oddEntries]),
  );
  const tar = tarOf(entries);
  return oneOf(random, [
    () => tar,
    () => tar,
    () => gzipSync(tar),
    () => gzipSync(tar).subarray(0, -9),
    () => gzipSync(Buffer.alloc(3_000_000)),
    () => tar.subarray(0, random.index(tar.length)),
  ])();
}

/**
 * Returns the archive in POSIX format: the header and content of each entry in blocks of 512 bytes, then two empty
 * blocks.
 */
function tarOf(entries: readonly Entry[]): Buffer {
  const blocks = entries.flatMap(({ name, content, type = "0", size }) => {
    const bytes = Buffer.from(content, "latin1");
    const header = Buffer.alloc(512);
    const octal = (value: number, width: number): string => `${value.toString(8).padStart(width - 1, "0")}\0`;
    header.write(name, 0, 100, "latin1");
    header.write(octal(0o644, 8), 100);
    header.write(octal(size ?? bytes.length, 12), 124);
    header.write("        ", 148);
    header.write(type, 156);
    header.write("ustar\x0000", 257);
    header.write(
      octal(
        header.reduce((sum, byte) => sum + byte, 0),
        7,
      ),
      148,
    );
    return [header, bytes, Buffer.alloc((512 - (bytes.length % 512)) % 512)];
  });
  return Buffer.concat([...blocks, Buffer.alloc(1024)]);
}
