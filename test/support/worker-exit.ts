// Without this, a test worker whose vitest is gone would live on until its test has ended.
process.once('disconnect', () => {
  process.exit(1);
});
