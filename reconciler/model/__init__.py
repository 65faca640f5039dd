"""The words everybody uses: values with no behaviour but their own."""
