"""How subjects fall on partitions and members."""
