// Opens the pages of a kshell in a real browser: node browser.js PORT CHROMIUM FOLDER
// Prints what it saw as JSON, and leaves pictures in FOLDER.
const { chromium } = require("playwright-core");

const [port, executablePath, folder] = process.argv.slice(2);
const site = `http://localhost:${port}`;

/** What the canvas of the loss curve shows, as text that changes with it. */
const curve = (page) => page.locator("#losses canvas").first().evaluate((canvas) => canvas.toDataURL());

async function main() {
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
  try {
    const page = await browser.newPage({ viewport: { width: 1200, height: 1000 } });
    const problems = [];
    page.on("pageerror", (error) => problems.push(String(error)));
    page.on("console", (message) => { if (message.type() === "error") problems.push(message.text()); });

    await page.goto(site);
    await page.fill("input", "select sum size by sym from trade");
    await page.keyboard.press("Enter");
    await page.waitForLoadState();
    const framed = await Promise.all(page.frames().map((frame) => frame.locator("body").innerText()));
    await page.screenshot({ path: `${folder}/root.png` });

    await page.goto(`${site}/train`);
    await page.waitForSelector("#losses canvas", { timeout: 20000 });
    await page.waitForTimeout(1500);
    const first = await curve(page);
    await page.fill("#query", "count trade");
    await page.keyboard.press("Enter");
    // two dots stand there while the query runs
    await page.waitForFunction(() => !["", ".."].includes(document.getElementById("answer").innerText), null, { timeout: 20000 });
    const answer = await page.locator("#answer").innerText();
    await page.waitForTimeout(2500);
    const moved = first !== (await curve(page));
    await page.screenshot({ path: `${folder}/train.png` });
    const models = await page.locator("#models").innerText();
    console.log(JSON.stringify({ list: framed.join("\n"), answer, moved, models, problems }));
  } finally {
    await browser.close();
  }
}

main().catch((error) => { console.error(error); process.exit(1); });
