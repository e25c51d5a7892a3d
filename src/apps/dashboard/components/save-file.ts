// Saves bytes as a file through the browser. All bytes are in memory at the same time, which is acceptable because an
// adapter has only a few megabytes.

export async function saveFile(
  bytes: AsyncIterable<Uint8Array>,
  name: string,
  type = "application/x-tar",
): Promise<void> {
  const parts: BlobPart[] = [];
  for await (const part of bytes) parts.push(part as Uint8Array<ArrayBuffer>);
  saveBlob(new Blob(parts, { type }), name);
}

export function saveBlob(blob: Blob, name: string): void {
  const address = URL.createObjectURL(blob);
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  // Revoking the URL does not affect a download that has begun, because it has its own reference to the bytes.
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}
