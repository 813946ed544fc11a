"""The words that models read, as Markdown: system, chat, one playbook per failure family."""
